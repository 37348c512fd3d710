export { Access, makeSecret } from './access';
export { startWebServer, type WebServer } from './web-server';
