"""The multirate network: transformer layers at two rates, coupled by pooling and upsampling."""
