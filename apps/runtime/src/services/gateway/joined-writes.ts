/** Bytes of a part of a body up to which it is written together with what comes before it. */
export const maxJoinedBytes = 8192
