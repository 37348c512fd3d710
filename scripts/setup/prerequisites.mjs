// What must be on the machine before set-up: named one by one, each with the way to get it.
import { outputOf } from './exec.mjs';
import { SetupError } from './log.mjs';

const ways = {
  linux: {
    node: 'Install Node 20.19 or newer (nodejs.org, or your system’s packages).',
    compiler: 'sudo apt-get install g++   (Fedora: sudo dnf install gcc-c++)',
    make: 'sudo apt-get install make   (Fedora: sudo dnf install make)',
    cmake: 'sudo apt-get install cmake   (or: python3 -m pip install --user cmake)',
    python: 'sudo apt-get install python3 python3-pip   (Fedora: sudo dnf install python3-pip)',
  },
  darwin: {
    node: 'brew install node   (20.19 or newer)',
    compiler: 'xcode-select --install   (clang 16 or newer)',
    make: 'xcode-select --install',
    cmake: 'brew install cmake   (3.25 or newer)',
    python: 'xcode-select --install, or: brew install python',
  },
};

/** @returns {number[]} the first dotted number in a text: "g++ 12.2.0" gives [12, 2, 0] */
export function versionIn(text) {
  const match = /\d+(\.\d+)+|\d+/.exec(text ?? '');
  return match ? match[0].split('.').map(Number) : [];
}

export function atLeast(version, wanted) {
  for (let i = 0; i < wanted.length; i++) {
    const part = version[i] ?? 0;
    if (part !== wanted[i]) return part > wanted[i];
  }
  return version.length > 0;
}

function compilerFits(command) {
  const macros = outputOf(command, ['-dM', '-E', '-x', 'c++', '/dev/null']);
  if (macros === null) return false;
  const number = (name) => Number(new RegExp(`#define ${name} (\\d+)`).exec(macros)?.[1] ?? 0);
  if (macros.includes('__apple_build_version__')) return number('__clang_major__') >= 15;
  const clang = number('__clang_major__');
  return clang > 0 ? clang >= 16 : number('__GNUC__') >= 12;
}

/** The C++ compiler to use: $CXX, else the first of the usual names that is new enough. */
function findCompiler() {
  const names = process.env.CXX
    ? [process.env.CXX]
    : process.platform === 'darwin'
      ? ['clang++']
      : ['g++', 'c++', 'clang++', 'g++-14', 'g++-13', 'g++-12', 'clang++-18', 'clang++-17', 'clang++-16'];
  return names.find(compilerFits) ?? null;
}

/**
 * Checks all of them and throws one error that lists what is missing.
 * @returns {{ compiler: string, generator: 'Ninja' | 'Unix Makefiles', cmake: string, python: string }}
 */
export function checkPrerequisites() {
  const way = ways[process.platform];
  if (!way)
    throw new SetupError(
      `Atelier builds on Linux and macOS; this is ${process.platform}.`,
      'On Windows use WSL 2: wsl --install, then run this inside it.',
    );
  if (process.platform === 'darwin' && process.arch !== 'arm64')
    throw new SetupError('Atelier builds on Apple silicon only: MLX has no build for Intel Macs.');
  const missing = [];
  if (!atLeast(versionIn(process.versions.node), [20, 19]))
    missing.push([`Node >= 20.19 (this is ${process.versions.node})`, way.node]);
  const compiler = findCompiler();
  if (!compiler)
    missing.push([
      `a C++20 compiler: g++ >= 12 or clang >= 16${process.env.CXX ? ` (CXX is ${process.env.CXX})` : ''}`,
      way.compiler,
    ]);
  const ninja = outputOf('ninja', ['--version']) !== null;
  if (!ninja && outputOf('make', ['--version']) === null) missing.push(['make', way.make]);
  const cmake = outputOf('cmake', ['--version']);
  if (!atLeast(versionIn(cmake), [3, 25]))
    missing.push([`CMake >= 3.25${cmake ? ` (this is ${versionIn(cmake).join('.')})` : ''}`, way.cmake]);
  if (outputOf('python3', ['-m', 'pip', '--version']) === null)
    missing.push(['Python 3 with pip', way.python]);
  if (missing.length > 0)
    throw new SetupError(
      `Missing on this machine:`,
      missing.map(([what, how]) => `${what}\n    ${how}`).join('\n'),
    );
  return { compiler, generator: ninja ? 'Ninja' : 'Unix Makefiles', cmake: 'cmake', python: 'python3' };
}
