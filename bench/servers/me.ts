/** What the peers answer to getMe: the mission's four fields, no more. */
export const me = () => ({ nodeId: 'a'.repeat(56), accountId: '', name: 'device', version: '0.1.0' })
