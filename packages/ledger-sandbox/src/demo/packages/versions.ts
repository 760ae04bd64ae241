/** Names of types of the token standard, which has some names in both versions. */

/** The name of a type of version 1. */
export const v1 = (api: string, name: string): string => `Splice.Api.Token.${api}V1:${name}`;

/** The name of a type of version 2. */
export const v2 = (api: string, name: string): string => `Splice.Api.Token.${api}V2:${name}`;
