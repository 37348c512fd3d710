// What `npm test` and `npm run check` are made of. A part shows its own output and says how many of its tests
// passed and failed.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gates, macGate } from './check/gates.mjs';
import { needChromium } from './setup/chromium.mjs';
import { elapsed, say, SetupError } from './setup/log.mjs';
import { buildDir, root } from './setup/paths.mjs';

/** Runs a command with its output shown and kept. */
function show(command, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

/** A report that a run has just written; null where it wrote none. */
function readReport(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

function freshReport(name) {
  const file = join(root, 'build', 'reports', name);
  mkdirSync(join(file, '..'), { recursive: true });
  rmSync(file, { force: true });
  return file;
}

/** A runner that failed without a failed test (a crash, a file that does not load) counts as one failure. */
function counted(passed, failed, code) {
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed };
}

async function native(device, rest) {
  const program = join(buildDir(device), 'native-tests');
  const { code, output } = await show(program, rest);
  const cases = /test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed/.exec(output);
  return {
    ...counted(Number(cases?.[1] ?? 0), Number(cases?.[2] ?? 0), code),
    notes: device === 'cuda' ? [] : [ofGpu(program)],
  };
}

/** The tests that such a build skips (native/src/testing/on_gpu.h). */
function ofGpu(program) {
  const all = execFileSync(program, ['--count', '--no-skip', '--test-case=gpu *'], { encoding: 'utf8' });
  const count = /(\d+)\s*$/.exec(all)?.[1];
  return `CUDA kernels: skipped: not a build for CUDA (${count} tests)`;
}

async function unit(_device, rest) {
  const file = freshReport('unit.json');
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...rest];
  const { code } = await show(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args]);
  const report = readReport(file);
  return counted(report?.numPassedTests ?? 0, report?.numFailedTests ?? 0, code);
}

async function e2e(device, rest) {
  const file = freshReport('e2e.json');
  const args = ['test', '--config', 'e2e/playwright.config.ts', '--reporter=list,json', ...rest];
  const env = {
    CHROME_PATH: await needChromium(),
    PLAYWRIGHT_JSON_OUTPUT_NAME: file,
    ATELIER_DEVICE: device,
  };
  const { code } = await show(
    process.execPath,
    [join(root, 'node_modules/@playwright/test/cli.js'), ...args],
    env,
  );
  const report = readReport(file);
  const stats = report?.stats;
  return {
    ...counted((stats?.expected ?? 0) + (stats?.flaky ?? 0), stats?.unexpected ?? 0, code),
    notes: report ? skipped(report) : [],
  };
}

/** Why tests of Playwright's report were skipped, by project: the list of its tests does not say. */
function skipped({ suites }) {
  const counts = new Map();
  const visit = (suite) => {
    suite.suites?.forEach(visit);
    for (const { status, projectName, annotations } of suite.specs.flatMap(({ tests }) => tests)) {
      if (status !== 'skipped') continue;
      const reason =
        annotations.find(({ type }) => type === 'skip')?.description ?? 'skipped without a reason';
      const note = `${projectName}: ${reason}`;
      counts.set(note, (counts.get(note) ?? 0) + 1);
    }
  };
  suites.forEach(visit);
  return [...counts].map(([note, count]) => `${note} (${count} tests)`);
}

const gateParts = Object.fromEntries(
  Object.entries({ ...gates, mac: macGate }).map(([name, gate]) => [
    name,
    (device) => gate(device).then(() => ({ passed: 1, failed: 0 })),
  ]),
);

export const parts = { ...gateParts, native, unit, e2e };

const { format: _, ...otherGates } = gates;

/**
 * Stages in their order, each of lanes side by side. What measures time or memory has the machine to itself; prettier
 * takes one core for as long as the other gates do, and browser tests leave one to the Mac's compiler.
 */
const STAGES = [[['format'], Object.keys(otherGates)], [['native']], [['unit']], [['e2e'], ['mac']]];

/** One part, whatever becomes of it. */
async function runPart(name, device, rest) {
  const since = Date.now();
  say(`${name} ...`);
  const result = await parts[name](device, rest).catch((error) => {
    process.stderr.write(`${error instanceof SetupError ? error.message : error.stack}\n`);
    return { passed: 0, failed: 1 };
  });
  const mark = result.failed > 0 ? 'FAILED' : 'ok';
  const line = `${name.padEnd(10)} ${mark.padEnd(6)} ${result.passed} passed, ${result.failed} failed, ${elapsed(since)}`;
  say(line);
  return { ...result, lines: [line, ...(result.notes ?? []).map((note) => `  ${note}`)] };
}

/**
 * Runs parts, all of them whatever fails, and ends with one line of counts.
 * @param {string[]} names @returns {Promise<number>} the exit code
 */
export async function runParts(names, device, rest = []) {
  const total = { passed: 0, failed: 0 };
  const lines = [];
  for (const lanes of STAGES) {
    const inLanes = lanes.map(async (lane) => {
      const results = [];
      for (const name of lane.filter((part) => names.includes(part)))
        results.push(await runPart(name, device, rest));
      return results;
    });
    for (const result of (await Promise.all(inLanes)).flat()) {
      total.passed += result.passed;
      total.failed += result.failed;
      lines.push(...result.lines);
    }
  }
  process.stdout.write(`\n${lines.join('\n')}\n${total.passed} passed, ${total.failed} failed\n`);
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}
