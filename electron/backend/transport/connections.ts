import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const MAX_HALF_OPEN = 64;

/** The limits that Node leaves open. Half-open sockets (no complete headers yet) make room oldest first. */
export function limitConnections(server: Server): void {
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.maxConnections = 1024;
  const halfOpen = new Set<Socket>();
  const wait = (socket: Socket) => {
    halfOpen.add(socket);
    if (halfOpen.size > MAX_HALF_OPEN) {
      const [oldest] = halfOpen;
      halfOpen.delete(oldest!);
      oldest!.destroy();
    }
  };
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('close', () => halfOpen.delete(socket));
    wait(socket);
  });
  server.on('request', (request, response) => {
    halfOpen.delete(request.socket);
    response.once('finish', () => {
      if (!request.socket.destroyed) wait(request.socket);
    });
  });
  server.on('upgrade', (request) => halfOpen.delete(request.socket));
}
