// A placeholder until the stand-in for PowerSync is written: it answers every request.
const { createServer } = require("node:http");

createServer((request, response) => response.end("powersync\n")).listen(8080);
process.on("SIGTERM", () => process.exit(0));
