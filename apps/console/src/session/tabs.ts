/** The tabs of this browser have one session: what one of them does to it, the others show. */
export interface Tabs {
  /** Somebody signed in or out, or changed to another account, in this tab. */
  announce(): void
  /** @param changed called when another tab announced it. @returns ends the calls */
  follow(changed: () => void): () => void
}

export const tabs: Tabs = createTabs()

function createTabs(): Tabs {
  const channel = new BroadcastChannel('selvedge:session')
  return {
    announce: () => channel.postMessage('changed'),
    follow(changed) {
      channel.addEventListener('message', changed)
      return () => channel.removeEventListener('message', changed)
    },
  }
}
