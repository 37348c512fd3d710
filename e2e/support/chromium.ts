/** The system's browser. */
export const chromium = { executablePath: process.env['CHROME_PATH'] ?? '/usr/bin/chromium' };
