/**
 * Minimum characters of a password: it may be the only sign-in method (NIST SP 800-63B-4 § 3.1.1.2 wants 15 then, and 8 with
 * passkeys beside it).
 */
export const minPasswordLength = 12

/** Tags of one device. */
export const maxDeviceTags = 20

/** Different tags of one account. */
export const maxAccountTags = 1000

/** Devices of one call that changes several. */
export const maxBulkDevices = 100
