import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { resourceCommand } from '../remote/service-command.ts';

export function decisionCommand(program: Command, io: Io): void {
  resourceCommand(program, io, 'decision', 'show a single decision');
}
