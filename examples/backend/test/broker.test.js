'use strict';
// What this program relies on in mqtt.js, against a server that shows every packet.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');

const packet = require('mqtt-packet');

const { Broker } = require('../broker');
const { Ingest } = require('../ingest');

const version = { protocolVersion: 5 };

// prepare gets the broker's client before it connects.
async function connectedPair(t, prepare = () => {}) {
  const seen = [];
  let socket;
  const server = net.createServer((connection) => {
    socket = connection;
    const parser = packet.parser(version);
    parser.on('packet', (p) => {
      seen.push(p);
      if (p.cmd === 'connect') packet.writeToStream({ cmd: 'connack', reasonCode: 0, sessionPresent: false }, connection, version);
      if (p.cmd === 'publish') packet.writeToStream({ cmd: 'puback', messageId: p.messageId }, connection, version);
    });
    connection.on('data', (data) => parser.parse(data));
    connection.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const broker = new Broker({
    receiveMaximum: 7,
    mqtt: { url: `mqtt://127.0.0.1:${server.address().port}`, clientId: 'backend-1', username: 'backend', password: 'x' },
  });
  prepare(broker);
  const connected = new Promise((resolve) => {
    const { onConnect } = broker;
    broker.onConnect = () => {
      onConnect();
      resolve();
    };
  });
  broker.start();
  await connected;
  t.after(async () => {
    socket.destroy();
    await broker.client.endAsync(true);
    server.close();
  });
  const publish = (messageId) =>
    packet.writeToStream({ cmd: 'publish', topic: 'positions/a', payload: `${messageId}`, qos: 1, messageId }, socket, version);
  const answer = (p) => packet.writeToStream(p, socket, version);
  const confirmed = () => seen.filter((p) => p.cmd === 'puback').map((p) => p.messageId);
  return { broker, seen, publish, answer, confirmed, cut: () => socket.destroy() };
}

async function until(condition) {
  for (let i = 0; i < 200 && !condition(); i += 1) await sleep(10);
  assert.ok(condition());
}

test('a message is confirmed when we say so, and the next ones are read meanwhile', async (t) => {
  const { broker, seen, publish, confirmed } = await connectedPair(t);
  const taken = [];
  broker.onMessage = (p, connection) => taken.push([p.messageId, connection]);
  [1, 2, 3].forEach(publish);
  await until(() => taken.length === 3);
  await sleep(100);
  assert.deepEqual(confirmed(), []);
  broker.confirm(2, taken[1][1]);
  broker.confirm(1, taken[0][1]);
  await until(() => confirmed().length === 2);
  assert.deepEqual(confirmed(), [2, 1]);
  const { properties, clean } = seen.find((p) => p.cmd === 'connect');
  assert.equal(properties.receiveMaximum, 7);
  assert.equal(clean, false);
});

test('a message that nobody keeps is confirmed at once', async (t) => {
  const { broker, publish, confirmed } = await connectedPair(t);
  broker.onMessage = () => false;
  publish(9);
  await until(() => confirmed().length === 1);
});

test('what came by an earlier connection is not confirmed on the next', async (t) => {
  const { broker, publish, confirmed, cut } = await connectedPair(t);
  const taken = [];
  broker.onMessage = (p, connection) => taken.push(connection);
  publish(1);
  await until(() => taken.length === 1);
  cut();
  await until(() => broker.connection === 2);
  broker.confirm(1, taken[0]);
  await sleep(100);
  assert.deepEqual(confirmed(), []);
});

test('with a subscription to make, it is ready when the broker has granted it', async (t) => {
  const { broker, seen, answer, cut } = await connectedPair(t, (b) => new Ingest({ broker: b, options: {} }));
  const asked = (n) => until(() => seen.filter((p) => p.cmd === 'subscribe').length === n);
  const id = () => seen.findLast((p) => p.cmd === 'subscribe').messageId;
  await asked(1);
  assert.equal(broker.connected, true);
  assert.equal(broker.ready, false);
  answer({ cmd: 'suback', messageId: id(), granted: [1] });
  await until(() => broker.ready);
  cut();
  await until(() => broker.connection === 2);
  await asked(2);
  assert.equal(broker.ready, false);
  answer({ cmd: 'suback', messageId: id(), granted: [0x87] }); // not authorized
  await sleep(100);
  assert.equal(broker.ready, false);
});
