declare module '*.module.css' {
  const classNames: Record<string, string>;
  export default classNames;
}
declare module '@fontsource-variable/inter/standard.css';
