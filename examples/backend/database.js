'use strict';
// All SQL of this program.

const { Client, Pool } = require('pg');

const log = require('./log');

const columns = `device, to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time,
  seq::float8 AS seq, latitude, longitude, speed`;

class Database {
  constructor(options) {
    this.connection = {
      ...options.postgres,
      application_name: options.mqtt.clientId,
      connectionTimeoutMillis: 5000,
      // A host that vanished answers nothing, not even an error.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      statement_timeout: 10_000,
      query_timeout: 15_000,
    };
    this.pool = new Pool({ ...this.connection, max: 5, idleTimeoutMillis: 60_000 });
    const lost = log.seldom('database connection lost');
    // An idle connection that breaks is replaced by the pool; without a listener it would end the program.
    this.pool.on('error', (error) => lost({ error: error.message }));
    this.checked = { at: 0, promise: null };
  }

  // Stores positions in one transaction: when it resolves, they are committed. Repeats are ignored.
  async insert(positions) {
    const column = (name) => positions.map((p) => p[name]);
    await this.pool.query({
      name: 'insert-positions',
      text: `INSERT INTO positions (device, time, seq, latitude, longitude, speed)
        SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::float8[], $5::float8[], $6::float8[])
        ON CONFLICT DO NOTHING`,
      values: ['device', 'time', 'seq', 'latitude', 'longitude', 'speed'].map(column),
    });
  }

  async newest(limit) {
    return this.rows(`SELECT ${columns} FROM positions ORDER BY positions.time DESC LIMIT $1`, [limit]);
  }

  // Only devices that sent something in the last week: older chunks of the table are not read.
  async newestByDevice() {
    return this.rows(`SELECT DISTINCT ON (device) ${columns} FROM positions
      WHERE positions.time > now() - INTERVAL '7 days' ORDER BY device, positions.time DESC, positions.seq DESC LIMIT 10000`, []);
  }

  async of(device, since, limit) {
    return this.rows(`SELECT ${columns} FROM positions WHERE device = $1 AND ($2::timestamptz IS NULL OR positions.time >= $2)
      ORDER BY positions.time, positions.seq LIMIT $3`, [device, since, limit]);
  }

  async count(device) {
    const [row] = await this.rows(
      'SELECT count(*)::float8 AS count, count(DISTINCT seq)::float8 AS distinct FROM positions WHERE device = $1', [device]);
    return row;
  }

  async rows(text, values) {
    return (await this.pool.query(text, values)).rows;
  }

  // Whether the database answers. Asked at most once a second, however many ask.
  async ready() {
    const now = Date.now();
    if (now - this.checked.at > 1000) {
      this.checked = { at: now, promise: this.pool.query('SELECT 1 FROM positions LIMIT 1').then(() => true, () => false) };
    }
    return this.checked.promise;
  }

  // A connection outside of the pool, for LISTEN.
  client() {
    return new Client(this.connection);
  }

  async close() {
    await this.pool.end();
  }
}

// Whether an error is about the data, so that trying again cannot help: SQLSTATE classes 22 and 23.
function isAboutData(error) {
  return /^(22|23)/.test(error.code ?? '');
}

module.exports = { Database, isAboutData };
