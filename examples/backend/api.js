'use strict';
// The HTTP API. Caddy is in front of it, and adds HTTPS.

const log = require('./log');
const { devicePattern, timePattern } = require('./position');

class BadRequest extends Error {}

// Each route has a pattern of the path, and answers with what is sent as JSON.
function routes({ database, streams, broker, state }) {
  return [
    [/^\/$/, () => ({ service: 'positions', api: '/api/positions' })],
    [/^\/healthz$/, async ({ response }) => {
      const answers = await database.ready();
      if (!answers || state.stopping) response.statusCode = 503;
      return { ready: answers && !state.stopping, database: answers, broker: broker.ready };
    }],
    [/^\/api\/positions$/, async ({ query }) => database.newest(limit(query))],
    [/^\/api\/positions\/latest$/, async () => database.newestByDevice()],
    [/^\/api\/positions\/count$/, async ({ query }) => database.count(device(query.get('device')))],
    [/^\/api\/positions\/([^/]+)$/, async ({ query, parts }) => database.of(device(parts[0]), since(query), limit(query))],
    [/^\/api\/events$/, ({ response }) => {
      if (streams.add(response)) return undefined;
      response.statusCode = 503;
      return { error: 'too many listeners' };
    }],
  ];
}

function api(parts) {
  const table = routes(parts);
  return async (request, response) => {
    try {
      const url = new URL(request.url, 'http://localhost');
      const [pattern, answer] = table.find(([p]) => p.test(url.pathname)) ?? [];
      if (!pattern) return send(response, 404, { error: 'there is nothing here' });
      if (!['GET', 'HEAD'].includes(request.method)) {
        response.setHeader('allow', 'GET, HEAD');
        return send(response, 405, { error: 'only GET' });
      }
      const body = await answer({ response, query: url.searchParams, parts: pattern.exec(url.pathname).slice(1) });
      return body === undefined ? undefined : send(response, response.statusCode, body);
    } catch (error) {
      if (error instanceof BadRequest) return send(response, 400, { error: error.message });
      log.error('request failed', { path: request.url?.slice(0, 200), error: error.message });
      return send(response, 503, { error: 'the database does not answer' });
    }
  };
}

function send(response, status, body) {
  if (response.headersSent) return response.destroy();
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  return response.end(text);
}

function limit(query) {
  const value = Number(query.get('limit') ?? 100);
  if (!Number.isInteger(value) || value < 1 || value > 10_000) throw new BadRequest('limit is not a number from 1 to 10000');
  return value;
}

function device(value) {
  if (!devicePattern.test(value ?? '')) throw new BadRequest('device is not 1 to 64 letters, digits, - or _');
  return value;
}

function since(query) {
  const value = query.get('since');
  if (value === null) return null;
  if (!timePattern.test(value) || Number.isNaN(Date.parse(value))) throw new BadRequest('since is not such as 2026-11-22T12:00:00Z');
  return value;
}

module.exports = { api };
