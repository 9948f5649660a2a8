/** Texts of buttons that wait, by the first word of their usual texts. */
const words: Readonly<Record<string, string>> = {
  Add: 'Adding',
  Approve: 'Approving',
  Block: 'Blocking',
  Confirm: 'Confirming',
  Create: 'Creating',
  Delete: 'Deleting',
  Deny: 'Denying',
  Export: 'Exporting',
  Link: 'Linking',
  Load: 'Loading',
  Remove: 'Removing',
  Revoke: 'Revoking',
  Save: 'Saving',
  Select: 'Selecting',
  Sign: 'Signing in',
  Test: 'Testing',
  Unblock: 'Unblocking',
  Unlink: 'Unlinking',
  Withdraw: 'Withdrawing',
}

/** @param text of the button; one without a word here stays as it is */
export function busyText(text: string): string {
  const [first = ''] = text.split(' ')
  if (text === 'Sign out') return 'Signing out…'
  return Object.hasOwn(words, first) ? `${words[first]}…` : text
}
