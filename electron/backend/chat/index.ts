export { chatVerbs, type ChatModel } from './chat';
