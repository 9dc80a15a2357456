'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');

const { settings } = require('../settings');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'settings-'));
const file = path.join(folder, 'secret');
fs.writeFileSync(file, 'pass word\n');

const env = {
  BROKER: 'mosquitto', MQTT_URL: 'mqtt://broker', MQTT_CLIENT_ID: 'backend-1', MQTT_USERNAME: 'backend', MQTT_PASSWORD_FILE: file,
  PGHOST: 'database', PGDATABASE: 'app', PGUSER: 'backend', PGPASSWORD_FILE: file,
};

test('secrets are read from files, without the last line break', () => {
  const read = settings(env);
  assert.equal(read.mqtt.password, 'pass word');
  assert.equal(read.postgres.password, 'pass word');
  assert.equal(read.port, 3000);
  assert.equal(read.postgres.ssl, undefined);
});

test('what is missing or wrong is named', () => {
  for (const name of Object.keys(env)) {
    assert.throws(() => settings({ ...env, [name]: '' }), new RegExp(name));
  }
  assert.throws(() => settings({ ...env, BROKER: 'nats' }), /"nats": set it to mosquitto or emqx/);
  assert.throws(() => settings({ ...env, PORT: '80x' }), /PORT is "80x"/);
  fs.writeFileSync(path.join(folder, 'empty'), '\n');
  assert.throws(() => settings({ ...env, PGPASSWORD_FILE: path.join(folder, 'empty') }), /empty/);
});
