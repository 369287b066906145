/** `palimpsest/react`: sessions, views and the agent as hooks. */
export {}
