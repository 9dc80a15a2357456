'use strict';
// What a device may send. Everything that passes here is accepted by the database too.

const topicPattern = /^positions\/([A-Za-z0-9_-]{1,64})$/;
const devicePattern = /^[A-Za-z0-9_-]{1,64}$/;
const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$/;
const longest = 4096;
const earliest = Date.parse('2000-01-01T00:00:00Z');
// A device's clock may be wrong, but not by years: such a row would need a chunk of its own.
const ahead = 24 * 60 * 60 * 1000;

// Returns the position in a message, or throws an error that says what is wrong with it.
function position(topic, payload, now = Date.now()) {
  const device = topicPattern.exec(topic)?.[1];
  if (!device) throw new Error('the topic is not positions/<device>');
  if (payload.length > longest) throw new Error(`more than ${longest} bytes`);
  let message;
  try {
    message = JSON.parse(payload);
  } catch {
    throw new Error('not JSON');
  }
  if (message === null || typeof message !== 'object') throw new Error('not an object');
  const { seq, time, latitude, longitude, speed = null } = message;
  if (!Number.isSafeInteger(seq) || seq < 0) throw new Error('seq is not a whole number from 0');
  if (typeof time !== 'string' || !timePattern.test(time)) throw new Error('time is not such as 2026-11-22T12:00:00.123Z');
  // Date.parse accepts 31 February; PostgreSQL does not.
  const at = Date.parse(time);
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 19) !== time.slice(0, 19)) throw new Error('time does not exist');
  if (at < earliest || at > now + ahead) throw new Error('time is before 2000 or more than a day ahead');
  if (!within(latitude, 90)) throw new Error('latitude is not from -90 to 90');
  if (!within(longitude, 180)) throw new Error('longitude is not from -180 to 180');
  if (speed !== null && !within(speed, 100_000)) throw new Error('speed is not a number');
  return { device, seq, time, latitude, longitude, speed };
}

function within(value, limit) {
  return typeof value === 'number' && Math.abs(value) <= limit;
}

module.exports = { position, devicePattern, timePattern };
