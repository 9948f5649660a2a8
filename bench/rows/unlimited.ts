/** The load comes from one address and one project: their limits are not what is measured. */
export const unlimited = ['address', 'client', 'account', 'node'].map((name) => `--limits.${name}=1000000000`)
