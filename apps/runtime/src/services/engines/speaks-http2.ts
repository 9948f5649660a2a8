import type { Plan } from './engine.ts'

/** Whether an instance is an OCI container that speaks HTTP/2 without TLS (`MCM.PROTOCOL: "h2c"`). Functions speak HTTP/1.1. */
export const speaksHttp2 = ({ plan }: { readonly plan: Plan }): boolean =>
  plan.content.kind === 'oci' && plan.settings['MCM.PROTOCOL'] === 'h2c'
