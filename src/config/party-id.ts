/** A party id as participants make them: a hint, `::`, and the fingerprint of its namespace; at most 255 characters. */
export const partyId = /^(?=.{1,255}$)[A-Za-z0-9:_ -]+::[A-Za-z0-9]+$/;

/** What was expected where a text is no party id. Whoever writes a hint alone means the party that has it. */
export const partyIdExpected = 'a whole party id, hint and fingerprint, such as alice::1220ab…';
