'use strict';
// Hears from the database which positions were committed.

const { setTimeout: sleep } = require('node:timers/promises');

const log = require('./log');

// The replica that has this lock acknowledges, so that a device hears of a position once.
const lock = 7_265_001;

class Listener {
  constructor({ database, onPosition, onAcknowledgement }) {
    this.database = database;
    this.onPosition = onPosition;
    this.onAcknowledgement = onAcknowledgement;
    this.stopping = new AbortController();
    this.lost = log.seldom('not listening to the database');
  }

  start() {
    this.running = this.run();
  }

  async run() {
    const { signal } = this.stopping;
    for (let pause = 250; !signal.aborted; pause = Math.min(10_000, pause * 2)) {
      const client = this.database.client();
      try {
        await this.listen(client, () => {
          pause = 250;
        });
      } catch (error) {
        if (!signal.aborted) this.lost({ error: error.message || error.code });
      }
      // The lock goes with the connection.
      await client.end().catch(() => {});
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  // Resolves or fails when the connection ends.
  async listen(client, onReady) {
    const ended = new Promise((resolve, reject) => {
      client.once('error', reject);
      client.once('end', resolve);
      this.stopping.signal.addEventListener('abort', resolve, { once: true });
    });
    ended.catch(() => {});
    client.on('notification', ({ channel, payload }) => {
      const position = JSON.parse(payload);
      if (channel === 'positions') this.onPosition(position);
      else this.onAcknowledgement(position);
    });
    await client.connect();
    await client.query('LISTEN positions');
    onReady();
    let first = true;
    let acknowledges = false;
    for (;;) {
      if (this.onAcknowledgement && !acknowledges) {
        acknowledges = (await client.query('SELECT pg_try_advisory_lock($1) AS mine', [lock])).rows[0].mine;
        if (acknowledges) {
          await client.query('LISTEN acknowledgements');
          log.info('acknowledges positions');
        }
      } else if (!first) {
        // A connection that broke without a word is noticed here.
        await client.query('SELECT 1');
      }
      first = false;
      const done = await Promise.race([ended.then(() => true), sleep(5000, false)]);
      if (done) return;
    }
  }

  async stop() {
    this.stopping.abort();
    await this.running;
  }
}

module.exports = { Listener };
