export { Access } from './access';
export { leaveCode } from './left-codes';
export { makeSecret } from './secret';
export { forgetPort, notedPort, notePort } from './served-port';
export { startWebServer, type WebServer } from './web-server';
