/** A party id as participants create it: a hint, `::`, and the fingerprint of its namespace; at most 255 characters. */
export const partyId = /^(?=.{1,255}$)[A-Za-z0-9:_ -]+::[A-Za-z0-9]+$/;

/** Text after "expected …", for text that is not a party id and often only the hint. */
export const partyIdExpected = 'a complete party id, hint and fingerprint, such as alice::1220ab…';
