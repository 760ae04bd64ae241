/** The sandbox participant with what the demo runs on: its packages, its templates and its name. */
import type { World } from '../ledger/ledger.ts';
import { startParticipant } from '../server/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../server/sandbox.ts';
import { demoParticipantId } from './market/participant-id.ts';
import { demoPackages } from './packages/catalogue.ts';
import { demoTemplates } from './templates/templates.ts';

/** The world of the demo. Templates are made anew at each call. */
export function demoWorld(): World {
  return { participantId: demoParticipantId, packages: demoPackages, templates: demoTemplates() };
}

/** Starts a sandbox participant in the world of the demo. Rejects with SANDBOX_LISTEN when the port cannot be used. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return startParticipant(demoWorld(), options);
}
