'use strict';
// Not PowerSync. It answers the health endpoints that PowerSync documents, and refuses to sync, so that a deployment can be
// tried on a machine that cannot fetch PowerSync's image. It says so in every answer.

const http = require('node:http');

const port = Number(process.env.PORT ?? 8080);
const standIn = 'This is a stand-in for PowerSync. It syncs nothing.';
const started = new Date().toISOString();

const probes = ['/probes/startup', '/probes/liveness', '/probes/readiness'];

function answer(request) {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (request.method === 'GET' && probes.includes(pathname)) {
    return [200, { data: { started: true, ready: true, touched_at: new Date().toISOString(), started_at: started } }];
  }
  if (request.method === 'POST' && pathname === '/sync/stream') {
    return [501, { error: { code: 'STAND_IN', status: 501, description: standIn } }];
  }
  return [404, { error: { code: 'NOT_FOUND', status: 404, description: `There is no ${pathname} here.` } }];
}

const server = http.createServer((request, response) => {
  request.resume();
  const [status, body] = answer(request);
  response.writeHead(status, { 'content-type': 'application/json', 'x-stand-in': 'powersync' });
  response.end(JSON.stringify({ ...body, note: standIn }));
});

server.listen(port, () => console.log(`${standIn} It listens on port ${server.address().port}.`));

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  });
}
