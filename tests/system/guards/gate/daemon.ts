/** A daemon that fails in the way that its argument names when it receives a message. */
import { runService } from '@selvedge/service-kit/lifecycle'

const harms: Record<string, () => void> = {
  rejection: () => void Promise.reject(new Error('nothing handled this')),
  exception: () => {
    throw new Error('nothing caught this')
  },
  end: () => process.exit(0),
}

await runService('harmed', async () => {
  process.once('message', () => harms[process.argv[2]!]!())
  return { ready: { url: 'http://127.0.0.1:9' }, stop: async () => undefined }
})
