/** The sandbox participant with the packages, templates and participant id of the demo. */
import type { World } from '../ledger/ledger.ts';
import { startParticipant, type Sandbox, type SandboxOptions } from '../server/sandbox.ts';
import { demoParticipantId } from './market/participant-id.ts';
import { depositTemplates } from './registry/deposit-templates.ts';
import { demoTemplates } from './templates/templates.ts';
import type { WrittenPackage } from '../daml-lf/declaration.ts';
import { spliceAmulet } from './packages/amulet.ts';
import { featuredApp } from './packages/featured-app.ts';
import { iou, initialLicensing, tradingApp } from './packages/applications.ts';
import { deposits } from './packages/deposits.ts';
import { nameService } from './packages/name-service.ts';
import { bonds, stablecoin } from './packages/registries.ts';
import { tokenStandardV2 } from './packages/token-standard-v2.ts';
import { tokenStandard } from './packages/token-standard.ts';

/** The world of the demo. Its templates are created for each call. */
export function demoWorld(): World {
  return {
    participantId: demoParticipantId,
    packages: demoPackages,
    templates: [...demoTemplates(), ...depositTemplates()],
  };
}

/** Starts a sandbox participant in the world of the demo. Rejects with SANDBOX_LISTEN if the port cannot be used. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return startParticipant(demoWorld(), options);
}

// The packages of the sandbox's own templates.

/** Packages that are vetted from the start of a ledger. Each one follows the packages that it imports. */
export const demoPackages: readonly WrittenPackage[] = [
  ...tokenStandard,
  ...tokenStandardV2,
  featuredApp,
  spliceAmulet,
  nameService,
  stablecoin,
  bonds,
  deposits,
  tradingApp,
  initialLicensing,
  iou,
];
