/**
 * Minimum characters of a password: it may be the only sign-in method (NIST SP 800-63B-4 § 3.1.1.2 wants 15 then, and 8 with
 * passkeys beside it).
 */
export const minPasswordLength = 12
