'use strict';
// Starts everything, and stops it in an order that loses nothing.

const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');

const { api } = require('./api');
const { Broker } = require('./broker');
const { Database } = require('./database');
const { EventStreams } = require('./events');
const { Ingest } = require('./ingest');
const { Listener } = require('./listener');
const log = require('./log');
const { Notices } = require('./notices');
const { settings } = require('./settings');

async function main() {
  const options = settings(process.env);
  const state = { stopping: false };

  const database = new Database(options);
  const streams = new EventStreams();
  const broker = new Broker(options);
  // With EMQX, a rule of the broker stores the positions. This program then only acknowledges them.
  const ingest = options.broker === 'mosquitto' ? new Ingest({ broker, database, options }) : null;
  const notices = options.broker === 'emqx' ? new Notices({ broker }) : null;
  const listener = new Listener({
    database,
    onPosition: (position) => streams.send(position),
    onAcknowledgement: notices && ((position) => notices.acknowledge(position)),
  });

  const server = http.createServer(api({ database, streams, broker, state }));
  server.requestTimeout = 30_000;
  server.listen(options.port);
  await once(server, 'listening');
  listener.start();
  broker.start();
  log.info('started', { port: options.port, broker: options.broker, client: options.mqtt.clientId });

  async function stop(signal) {
    if (state.stopping) return;
    state.stopping = true;
    log.info('stopping', { signal });
    // The proxy needs some seconds to notice that /healthz fails. Until then, requests are answered.
    await Promise.all([ingest?.stop(options.stopSeconds * 1000), sleep(options.drainSeconds * 1000)]);
    streams.end();
    server.close();
    server.closeIdleConnections();
    await Promise.race([once(server, 'close'), sleep(5000)]);
    server.closeAllConnections();
    await listener.stop();
    await broker.stop();
    await database.close();
    log.info('stopped');
    process.exit(0);
  }
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => stop(signal).catch(die));
  }
}

// A state that nobody thought of: start again. What was not confirmed is delivered again.
function die(error) {
  log.error('fatal', { error: error.stack ?? String(error) });
  process.exit(1);
}

process.on('uncaughtException', die);
process.on('unhandledRejection', die);
main().catch(die);
