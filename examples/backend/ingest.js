'use strict';
// From the broker into the database, for a broker that does not store positions itself.
//
// A message is confirmed to the broker after two things: its row is committed, and the broker has
// confirmed the acknowledgement to the device. Whatever stops in between, the broker sends the
// message again, the database ignores the repeat, and the device is acknowledged after all.

const { setTimeout: sleep } = require('node:timers/promises');

const { isAboutData } = require('./database');
const log = require('./log');
const { position } = require('./position');

// One of the replicas gets each message.
const topic = '$share/backend/positions/+';

class Ingest {
  constructor({ broker, database, options }) {
    this.broker = broker;
    this.database = database;
    this.options = options;
    this.waiting = [];
    this.unconfirmed = 0;
    this.running = false;
    this.stopping = false;
    this.abandoned = false;
    this.invalid = log.seldom('ignored a message');
    this.failed = log.seldom('positions were not stored, trying again');

    broker.subscribed = false;
    broker.onConnect = () => this.subscribe();
    broker.onMessage = (packet, connection) => this.take(packet, connection);
    // The broker sends all of it again: to keep it would only fill the memory.
    broker.onDisconnect = () => {
      broker.subscribed = false;
      this.waiting = [];
      this.unconfirmed = 0;
    };
  }

  subscribe() {
    if (this.stopping) return;
    this.broker.client.subscribe(topic, { qos: 1 }, (error, granted) => {
      if (error || granted.some((g) => g.qos > 2)) {
        this.invalid({ error: `the broker refused the subscription: ${error?.message ?? 'not allowed'}` });
        return;
      }
      this.broker.subscribed = true;
    });
  }

  // Returns whether the message is confirmed later.
  take(packet, connection) {
    // Neither stored nor confirmed: the broker sends it again, to this replica or to another.
    if (this.stopping) return true;
    let item;
    try {
      item = position(packet.topic, packet.payload);
    } catch (error) {
      // Confirmed at once: it would be as wrong the next time.
      this.invalid({ topic: packet.topic.slice(0, 80), error: error.message });
      return false;
    }
    // The broker limits what it sends unconfirmed, but what has QoS 0 needs no confirmation.
    if (packet.qos === 0 && this.waiting.length >= this.options.receiveMaximum) {
      this.invalid({ topic: packet.topic, error: 'too many messages with QoS 0' });
      return false;
    }
    this.waiting.push({ item, messageId: packet.messageId, qos: packet.qos, connection });
    this.unconfirmed += 1;
    if (!this.running) this.run();
    return packet.qos === 1;
  }

  async run() {
    this.running = true;
    while (this.waiting.length > 0) {
      // More messages come meanwhile, and one transaction stores them all.
      if (this.waiting.length < this.options.batchSize) await sleep(this.options.batchMilliseconds);
      const batch = this.waiting.splice(0, this.options.batchSize);
      const stored = await this.store(batch);
      // Does not wait: at most receiveMaximum messages are on their way.
      for (const message of stored) this.finish(message);
    }
    this.running = false;
  }

  // Tries until the batch is stored, or until it is the broker's again. Returns what is committed.
  async store(batch) {
    for (let pause = 250; ; pause = Math.min(10_000, pause * 2)) {
      try {
        await this.database.insert(batch.map((message) => message.item));
        return batch;
      } catch (error) {
        if (isAboutData(error)) return this.storeOneByOne(batch);
        this.failed({ error: error.message || error.code, count: batch.length });
      }
      await sleep(pause * (0.5 + Math.random() / 2));
      batch = batch.filter((message) => message.connection === this.broker.connection);
      if (batch.length === 0 || this.abandoned) return [];
    }
  }

  // One row that the database refuses must not hold up the others.
  async storeOneByOne(batch) {
    const stored = [];
    for (const message of batch) {
      try {
        await this.database.insert([message.item]);
        stored.push(message);
      } catch (error) {
        if (!isAboutData(error)) continue; // the broker sends it again after the next connection
        this.invalid({ topic: `positions/${message.item.device}`, error: error.message });
        this.confirm(message);
      }
    }
    return stored;
  }

  async finish(message) {
    if (message.connection !== this.broker.connection) return;
    try {
      await this.broker.acknowledge(message.item);
      this.confirm(message);
    } catch (error) {
      // The connection is lost or closing: the broker sends the message again.
      this.failed({ error: error.message });
    }
  }

  confirm(message) {
    if (message.connection !== this.broker.connection) return;
    if (message.qos === 1) this.broker.confirm(message.messageId, message.connection);
    this.unconfirmed -= 1;
  }

  // Takes no more messages, and finishes those that it has.
  async stop(milliseconds) {
    this.stopping = true;
    const deadline = Date.now() + milliseconds;
    // To connect again now would only be another interruption.
    if (!this.broker.connected) await this.broker.stop();
    // The other replicas get what comes from now on.
    else await Promise.race([this.broker.client.unsubscribeAsync(topic).catch(() => {}), sleep(2000)]);
    while (this.unconfirmed > 0 && this.broker.connected && Date.now() < deadline) await sleep(50);
    this.abandoned = true;
  }
}

module.exports = { Ingest };
