'use strict';
// Settings come from environment variables. A secret comes from the file that <NAME>_FILE names.

const fs = require('node:fs');

function settings(env) {
  const broker = text(env, 'BROKER');
  if (!['mosquitto', 'emqx'].includes(broker)) {
    throw new Error(`BROKER is ${JSON.stringify(broker)}: set it to mosquitto or emqx`);
  }
  return {
    port: whole(env, 'PORT', 3000, 0, 65535),
    broker,
    mqtt: {
      url: text(env, 'MQTT_URL'),
      clientId: text(env, 'MQTT_CLIENT_ID'),
      username: text(env, 'MQTT_USERNAME'),
      password: secret(env, 'MQTT_PASSWORD'),
    },
    postgres: {
      host: text(env, 'PGHOST'),
      port: whole(env, 'PGPORT', 5432, 1, 65535),
      database: text(env, 'PGDATABASE'),
      user: text(env, 'PGUSER'),
      password: secret(env, 'PGPASSWORD'),
      ssl: env.PGSSLROOTCERT ? { ca: fs.readFileSync(env.PGSSLROOTCERT, 'utf8') } : undefined,
    },
    // How many messages the broker may send before one is confirmed: the limit of all queues here.
    receiveMaximum: whole(env, 'RECEIVE_MAXIMUM', 500, 1, 65535),
    batchSize: whole(env, 'BATCH_SIZE', 200, 1, 5000),
    batchMilliseconds: whole(env, 'BATCH_MILLISECONDS', 20, 0, 10_000),
    drainSeconds: whole(env, 'DRAIN_SECONDS', 6, 0, 600),
    stopSeconds: whole(env, 'STOP_SECONDS', 20, 0, 600),
  };
}

function text(env, name) {
  if (!env[name]) throw new Error(`${name} is not set`);
  return env[name];
}

function whole(env, name, otherwise, least, most) {
  if (env[name] === undefined || env[name] === '') return otherwise;
  const value = Number(env[name]);
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Error(`${name} is ${JSON.stringify(env[name])}: set it to a number from ${least} to ${most}`);
  }
  return value;
}

function secret(env, name) {
  const file = text(env, `${name}_FILE`);
  const value = fs.readFileSync(file, 'utf8').trim();
  if (!value) throw new Error(`${name}_FILE names ${file}, which is empty`);
  return value;
}

module.exports = { settings };
