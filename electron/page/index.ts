export { PageFiles, type PageFile } from './page-files';
export { securityHeaders } from './headers';
