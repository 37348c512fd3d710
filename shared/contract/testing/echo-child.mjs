// The far end of the process adapter's test: everything that arrives goes back.
process.on('message', (message) => process.send(message));
process.send('ready');
