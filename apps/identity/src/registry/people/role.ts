/** What a person may do in an account: owners also invite people, delete projects, and block or disassociate devices. */
export type Role = 'owner' | 'member'
