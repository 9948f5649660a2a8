/** Text of a caller in a message, which must be printable ASCII without quotes (RFC 6749 § 5.2): at most 60 characters of it. */
export const quote = (text: string): string => `"${text.slice(0, 60).replaceAll(/["\\]|[^\x20-\x7e]/g, '?')}"`
