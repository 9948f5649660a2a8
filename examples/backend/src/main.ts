import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { createBackend } from './backend.ts'

const issuer = process.env.ISSUER ?? 'http://127.0.0.1:8084'
const port = Number(process.env.PORT ?? 8090)
const origin = process.env.ORIGIN ?? `http://127.0.0.1:${port}`
const app = createBackend(createAccessTokenVerifier({ issuer, scope: 'edge:mcm' }), () => origin)
console.info(`listening at ${await app.listen({ port })}, trusting ${issuer}`)
