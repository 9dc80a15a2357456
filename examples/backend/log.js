'use strict';
// One line of JSON for each event, on standard output.

function write(level, event, fields) {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
}

// Returns a function that logs an event at most once in some seconds, with how often it happened.
function seldom(event, seconds = 10) {
  let count = 0;
  let last = {};
  let timer = null;
  return (fields) => {
    count += 1;
    last = fields;
    if (timer) return;
    const flush = () => {
      timer = null;
      if (count === 0) return;
      write('warning', event, { count, ...last });
      count = 0;
      timer = setTimeout(flush, seconds * 1000).unref();
    };
    flush();
  };
}

module.exports = {
  info: (event, fields) => write('info', event, fields),
  error: (event, fields) => write('error', event, fields),
  seldom,
};
