'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { after, before, test } = require('node:test');

const { api } = require('../api');
const { EventStreams } = require('../events');

const state = { stopping: false };
const streams = new EventStreams();
const asked = [];
const database = {
  answers: true,
  ready: async () => database.answers,
  newest: async (...of) => asked.push(['newest', ...of]) && [],
  newestByDevice: async () => [{ device: 'latest' }],
  of: async (...of) => asked.push(['of', ...of]) && [],
  count: async () => {
    throw new Error('connection refused');
  },
};
const server = http.createServer(api({ database, streams, broker: { ready: false }, state }));
let base;

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  streams.end();
  server.close();
  server.closeAllConnections();
});

const get = async (path, options) => {
  const response = await fetch(base + path, options);
  return [response.status, await response.json()];
};

test('healthz says whether the database answers, and fails while stopping', async () => {
  assert.deepEqual(await get('/healthz'), [200, { ready: true, database: true, broker: false }]);
  database.answers = false;
  assert.equal((await get('/healthz'))[0], 503);
  database.answers = true;
  state.stopping = true;
  assert.equal((await get('/healthz'))[0], 503);
  state.stopping = false;
});

test('questions reach the database as values', async () => {
  asked.length = 0;
  assert.deepEqual(await get('/api/positions?limit=5'), [200, []]);
  assert.deepEqual(await get('/api/positions/car-1?since=2026-11-22T12:00:00Z'), [200, []]);
  assert.deepEqual(asked, [['newest', 5], ['of', 'car-1', '2026-11-22T12:00:00Z', 100]]);
  assert.deepEqual(await get('/api/positions/latest'), [200, [{ device: 'latest' }]]);
});

test('bad questions are refused', async () => {
  for (const path of ['/api/positions?limit=0', '/api/positions?limit=x', '/api/positions/a%27b', '/api/positions/a?since=now',
    '/api/positions/count', '/api/positions/a?since=2026-99-99T00:00:00Z']) {
    assert.equal((await get(path))[0], 400, path);
  }
  assert.equal((await get('/nothing'))[0], 404);
  assert.equal((await get('/', { method: 'POST', body: 'x' }))[0], 405);
});

test('a database that fails is not a crash, and its message stays inside', async () => {
  assert.deepEqual(await get('/api/positions/count?device=a'), [503, { error: 'the database does not answer' }]);
});

test('events arrive as they happen', async () => {
  const response = await fetch(`${base}/api/events`);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const reader = response.body.getReader();
  let text = '';
  while (streams.responses.size === 0) await new Promise(setImmediate);
  streams.send({ device: 'a', seq: 1 });
  while (!text.includes('data:')) text += Buffer.from((await reader.read()).value);
  assert.match(text, /event: position\ndata: \{"device":"a","seq":1\}\n\n/);
  await reader.cancel();
});
