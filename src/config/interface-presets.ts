/** Presets: names for lists of interfaces. */

function interfacesOf(packageName: string, moduleName: string, ...names: readonly string[]): readonly string[] {
  return names.map((name) => `#${packageName}:Splice.Api.Token.${moduleName}:${name}`);
}

/** All interfaces of the token standard, version 1 (CIP-56) and version 2 (CIP-112). Source: the published packages. */
const tokens: readonly string[] = [
  ...interfacesOf('splice-api-token-holding-v1', 'HoldingV1', 'Holding'),
  ...interfacesOf('splice-api-token-transfer-instruction-v1', 'TransferInstructionV1', 'TransferInstruction'),
  ...interfacesOf('splice-api-token-transfer-instruction-v1', 'TransferInstructionV1', 'TransferFactory'),
  ...interfacesOf('splice-api-token-allocation-v1', 'AllocationV1', 'Allocation'),
  ...interfacesOf('splice-api-token-allocation-instruction-v1', 'AllocationInstructionV1', 'AllocationInstruction'),
  ...interfacesOf('splice-api-token-allocation-instruction-v1', 'AllocationInstructionV1', 'AllocationFactory'),
  ...interfacesOf('splice-api-token-allocation-request-v1', 'AllocationRequestV1', 'AllocationRequest'),
  ...interfacesOf('splice-api-token-holding-v2', 'HoldingV2', 'Holding'),
  ...interfacesOf('splice-api-token-transfer-events-v2', 'TransferEventsV2', 'EventLog'),
  ...interfacesOf('splice-api-token-transfer-instruction-v2', 'TransferInstructionV2', 'TransferInstruction'),
  ...interfacesOf('splice-api-token-transfer-instruction-v2', 'TransferInstructionV2', 'TransferFactory'),
  ...interfacesOf('splice-api-token-allocation-v2', 'AllocationV2', 'Allocation', 'SettlementFactory'),
  ...interfacesOf('splice-api-token-allocation-instruction-v2', 'AllocationInstructionV2', 'AllocationInstruction'),
  ...interfacesOf('splice-api-token-allocation-instruction-v2', 'AllocationInstructionV2', 'AllocationFactory'),
  ...interfacesOf('splice-api-token-allocation-request-v2', 'AllocationRequestV2', 'AllocationRequest'),
];

const presets: ReadonlyMap<string, readonly string[]> = new Map([['tokens', tokens]]);

/** The names of all presets. */
export const presetNames: readonly string[] = [...presets.keys()];

/** Whether the interface is in any preset. @param id `#package-name:Module:Entity` */
export function isOfPreset(id: string): boolean {
  return [...presets.values()].some((interfaces) => interfaces.includes(id));
}

/**
 * Ids of the given interfaces, sorted and without duplicates. Presets are expanded.
 * @param words `#package-name:Module:Entity`, or the name of a preset
 */
export function interfacesNamed(words: readonly string[]): readonly string[] {
  return [...new Set(words.flatMap((name) => presets.get(name) ?? [name]))].sort();
}
