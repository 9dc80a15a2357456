'use strict';
// Two replicas, a broker and a database, of which some are killed while a device sends.
//
// Needs mosquitto in the PATH, and a database with the table that the role `database` creates:
// PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD_FILE, and PGSSLROOTCERT for TLS.

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');

const mqtt = require('mqtt');

const missing = !process.env.PGHOST ? 'PGHOST is not set' : spawnSync('mosquitto', ['-h']).error ? 'there is no mosquitto' : false;
const count = Number(process.env.LOSS_POSITIONS ?? 3000);

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// A program that can be killed and started again.
class Program {
  constructor(t, command, args, env) {
    this.start = () => {
      this.process = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] });
      this.ended = new Promise((resolve) => this.process.once('exit', (code, signal) => resolve(signal ?? code)));
    };
    this.start();
    t.after(() => this.kill('SIGKILL'));
  }

  async kill(signal) {
    this.process.kill(signal);
    return this.ended;
  }
}

// A device that keeps each position until it is acknowledged.
class Tracker {
  constructor(port, device) {
    this.device = device;
    this.kept = new Map();
    this.acknowledged = new Set();
    this.client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: device, clean: false, reconnectPeriod: 300, protocolVersion: 5,
      properties: { sessionExpiryInterval: 3600 } });
    this.client.on('connect', () => this.client.subscribe(`acks/${device}`, { qos: 1 }));
    this.client.on('error', () => {});
    this.client.on('message', (topic, payload) => {
      const { seq, time } = JSON.parse(payload);
      assert.equal(time, timeOf(seq));
      this.kept.delete(seq);
      this.acknowledged.add(seq);
    });
    this.again = setInterval(() => {
      if (this.client.connected) for (const seq of [...this.kept.keys()].slice(0, 500)) this.publish(seq);
    }, 3000);
  }

  send(seq) {
    this.kept.set(seq, true);
    if (this.client.connected) this.publish(seq);
  }

  publish(seq) {
    const message = { seq, time: timeOf(seq), latitude: 47.2, longitude: -1.5, speed: seq };
    this.client.publish(`positions/${this.device}`, JSON.stringify(message), { qos: 1 }, () => {});
  }

  async stop() {
    clearInterval(this.again);
    await this.client.endAsync(true);
  }
}

function timeOf(seq) {
  return new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
}

test('nothing that was acknowledged is lost or doubled', { skip: missing, timeout: 300_000 }, async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'loss-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const port = await freePort();
  fs.writeFileSync(path.join(folder, 'password'), 'unused');
  fs.writeFileSync(path.join(folder, 'mosquitto.conf'), `listener ${port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location ${folder}/
autosave_interval 2
max_inflight_messages 500
log_type error
user root
`);
  const broker = new Program(t, 'mosquitto', ['-c', path.join(folder, 'mosquitto.conf')]);
  const ports = [await freePort(), await freePort()];
  const replicas = ports.map((http, i) => new Program(t, process.execPath, [path.join(__dirname, '..', 'server.js')], {
    PORT: String(http), BROKER: 'mosquitto', MQTT_URL: `mqtt://127.0.0.1:${port}`, MQTT_CLIENT_ID: `backend-${i + 1}`,
    MQTT_USERNAME: 'backend', MQTT_PASSWORD_FILE: path.join(folder, 'password'), DRAIN_SECONDS: '1',
  }));
  const get = async (url) => (await fetch(url)).json();
  const ready = async (i) => {
    for (;;) {
      const found = await get(`http://127.0.0.1:${ports[i]}/healthz`).catch(() => ({}));
      if (found.ready && found.broker) return;
      await sleep(100);
    }
  };
  await Promise.all([ready(0), ready(1)]);

  const device = `loss-${process.pid}-${Date.now()}`;
  const tracker = new Tracker(port, device);
  t.after(() => tracker.stop());
  let seq = 0;
  const sending = (async () => {
    while (seq < count) {
      for (let i = 0; i < 5; i += 1) tracker.send((seq += 1));
      await sleep(20);
    }
  })();

  // What a crash, a rolling update and a reboot do.
  const disturb = [
    async () => replicas[0].kill('SIGKILL').then(() => replicas[0].start()),
    async () => broker.kill('SIGKILL').then(() => broker.start()),
    async () => {
      await ready(1);
      const begun = Date.now();
      assert.equal(await replicas[1].kill('SIGTERM'), 0, 'SIGTERM ends cleanly');
      assert.ok(Date.now() - begun < 10_000, 'and soon');
      replicas[1].start();
    },
    async () => {
      await Promise.all([...replicas, broker].map((p) => p.kill('SIGKILL')));
      await sleep(500);
      [broker, ...replicas].forEach((p) => p.start());
    },
    async () => broker.kill('SIGTERM').then(() => broker.start()),
  ];
  for (const step of disturb) {
    await sleep(1500);
    await step();
  }
  await sending;
  await Promise.all([ready(0), ready(1)]);
  while (tracker.kept.size > 0) await sleep(100);

  assert.equal(tracker.acknowledged.size, count);
  assert.deepEqual(await get(`http://127.0.0.1:${ports[0]}/api/positions/count?device=${device}`), { count, distinct: count });
  const rows = await get(`http://127.0.0.1:${ports[1]}/api/positions/${device}?limit=10000`);
  assert.deepEqual(rows.map((r) => r.seq), Array.from({ length: Math.min(count, 10_000) }, (_, i) => i + 1));
  assert.equal(rows[41].time, timeOf(42));
});
