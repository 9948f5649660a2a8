import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { createBackend } from './backend.ts'

const issuer = process.env.ISSUER ?? 'http://127.0.0.1:8084'
const app = createBackend(createAccessTokenVerifier({ issuer, scope: 'edge:mcm' }))
console.info(
  `listening at ${await app.listen({ port: Number(process.env.PORT ?? 8090) })}, trusting ${issuer}`,
)
