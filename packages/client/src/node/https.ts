/** Node's TLS client, loaded on first use: loading takes 6 ms, and programs that call only their own machine do not need it. */
export const https = () => process.getBuiltinModule('node:https')
