// A placeholder until the example's backend is written: it answers every request.
const { createServer } = require("node:http");

require("mqtt");
require("pg");

createServer((request, response) => response.end("backend\n")).listen(8080);
process.on("SIGTERM", () => process.exit(0));
