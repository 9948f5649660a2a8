/** Results for programs: one JSON value. */
export const formatJson = (value: unknown): string => JSON.stringify(value, undefined, 2)
