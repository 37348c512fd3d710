import { app, type Session, type WebContents } from 'electron';
import { isOurs } from './origin';

/** Electron grants permissions by default: everything but these is denied. */
const allowedPermissions = new Set(['clipboard-sanitized-write', 'notifications']);

/** Denies what a page may ask of the machine. To be called on every session before a page loads in it. */
export function denyPermissions(session: Session): void {
  session.setPermissionRequestHandler((contents, permission, callback) =>
    callback(allowedPermissions.has(permission) && isOurs(contents.getURL())),
  );
  session.setPermissionCheckHandler(
    (_contents, permission, origin) => allowedPermissions.has(permission) && isOurs(origin),
  );
  session.setDevicePermissionHandler(() => false);
  session.setDisplayMediaRequestHandler((_request, callback) => callback({}));
}

/** Keeps a page where it is: no foreign address, no new window, no webview. */
export function pinNavigation(contents: WebContents): void {
  contents.on('will-navigate', (event) => {
    if (!isOurs(event.url)) event.preventDefault();
  });
  contents.on('will-frame-navigate', (event) => {
    if (!isOurs(event.url)) event.preventDefault();
  });
  contents.on('will-redirect', (event) => {
    if (!isOurs(event.url)) event.preventDefault();
  });
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: 'deny' }));
}

/** Pins every page that will ever be made, also those that our own factory did not make. */
export function pinAllPages(): void {
  app.on('web-contents-created', (_event, contents) => pinNavigation(contents));
}
