"""The multirate network: transformer layers on tokens and on blocks of tokens, coupled by pooling and upsampling."""
