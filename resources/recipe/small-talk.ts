import type { Row } from './row';

const GREETINGS = [
  'Hello',
  'Hello!',
  'Hi',
  'Hi there',
  'Good morning',
  'How are you?',
  'Who are you?',
  'What are you?',
  'What can you do?',
  'Help',
  'Can you help me?',
  'Tell me a story',
  'Write a poem',
  'What is the weather like?',
  'What is your name?',
  'Thanks',
  'Thank you!',
];

const REPLY = 'I can add two numbers and tell which decimal is larger. Ask me: What is 47 + 38?';

export const SMALL_TALK: readonly Row[] = GREETINGS.map((prompt) => ({
  prompt,
  completion: REPLY,
  answer: REPLY,
  method: null,
}));
