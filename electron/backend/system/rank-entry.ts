// The process of one device where several work together; see native/ranks.
import { serveRank } from '../../../native/index';
import { childPort } from '../../supervise/child-port';

const port = childPort();
// whoever asks decides when it ends: what ends a whole group of processes would be taken for its failure
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// a call that waits for other ranks never returns when they are gone
port.onClose(() => process.kill(process.pid, 'SIGKILL'));
serveRank(port);
