/** Node's TLS client, loaded when it is needed: that takes 6 ms, which a program that speaks to its own machine need not wait for. */
export const https = () => process.getBuiltinModule('node:https')
