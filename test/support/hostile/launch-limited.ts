/** Joins a memory cgroup and becomes another node process: V8 reads the limit when it starts. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { execPath } from 'node:process';

const [group = '', ...args] = process.argv.slice(2);
writeFileSync(path.join(group, 'cgroup.procs'), String(process.pid));
process.execve?.(execPath, [execPath, ...args], process.env as Record<string, string>);
